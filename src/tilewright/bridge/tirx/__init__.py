"""TileIR to Apache TVM TIRx, behind the optional extra `tirx`."""
