"""The language: values, domains, capture and library algorithms."""
