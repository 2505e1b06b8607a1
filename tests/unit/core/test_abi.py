from tilewright.core.abi import CompileOptions, Lowering, Usage
from tilewright.core.digest import digest


def test_usage_is_a_set_of_two() -> None:
    assert Usage.READ | Usage.WRITE == Usage.READ_WRITE
    assert Usage.READ in Usage.READ_WRITE
    assert not Usage.NONE
    assert Usage.NONE | Usage.READ == Usage.READ


def test_every_option_changes_the_digest() -> None:
    options = [
        CompileOptions(),
        CompileOptions(lowering=Lowering.TIRX),
        CompileOptions(threads_per_group=8),
        CompileOptions(xir=1),
        CompileOptions(tirx=1),
        CompileOptions(fast_math=True),
        CompileOptions(name="k"),
        CompileOptions(cache=False),
        CompileOptions(debug=True),
        CompileOptions(check=False),
        CompileOptions(compile_only=True),
    ]
    assert len({digest(option) for option in options}) == len(options)
