"""Polynomial coefficients, lowest power first, as `tools/fit_math.py` derives them (run it to print this table).

Each name's target function, interval and weight are the entry of the same name in that script.
"""


def hexadecimal(*texts: str) -> tuple[float, ...]:
    """Floats written exactly."""
    return tuple(map(float.fromhex, texts))


EXP = hexadecimal(
    "0x1.fffffc0000000p-2",
    "0x1.5554940000000p-3",
    "0x1.55588c0000000p-5",
    "0x1.12389a0000000p-7",
    "0x1.6a790a0000000p-10",
)
EXP2 = hexadecimal(
    "0x1.62e4300000000p-1",
    "0x1.ebfbde0000000p-3",
    "0x1.c6af760000000p-5",
    "0x1.3b2b860000000p-7",
    "0x1.5f11e20000000p-10",
    "0x1.43ca840000000p-13",
)
LOG = hexadecimal(
    "-0x1.0000000000000p-1",
    "0x1.5555460000000p-2",
    "-0x1.ffffee0000000p-3",
    "0x1.99a5420000000p-3",
    "-0x1.5562ee0000000p-3",
    "0x1.2333a20000000p-3",
    "-0x1.fb40d60000000p-4",
    "0x1.e62ee40000000p-4",
    "-0x1.e300cc0000000p-4",
    "0x1.1bf1780000000p-4",
)
LOG2 = hexadecimal(
    "-0x1.7154760000000p-1",
    "0x1.ec708c0000000p-2",
    "-0x1.7154a20000000p-2",
    "0x1.277e320000000p-2",
    "-0x1.ec79640000000p-3",
    "0x1.a44f260000000p-3",
    "-0x1.6eb7980000000p-3",
    "0x1.5de2d20000000p-3",
    "-0x1.5646cc0000000p-3",
    "0x1.8c826a0000000p-4",
)
TANH = hexadecimal(
    "-0x1.5555540000000p-2",
    "0x1.11106e0000000p-3",
    "-0x1.b9edc00000000p-5",
    "0x1.6371700000000p-6",
    "-0x1.0b392c0000000p-7",
    "0x1.158f9e0000000p-9",
)
ERF = hexadecimal(
    "0x1.06eba80000000p-3",
    "-0x1.8127420000000p-2",
    "0x1.ce2de80000000p-4",
    "-0x1.b80c3e0000000p-6",
    "0x1.54b3480000000p-8",
    "-0x1.a98ed00000000p-11",
    "0x1.5a97420000000p-14",
)
ERFC = hexadecimal(
    "-0x1.6e56520000000p-13",
    "0x1.2127e40000000p+0",
    "0x1.44460a0000000p-1",
    "0x1.bb840e0000000p-4",
    "-0x1.9b8f440000000p-6",
    "0x1.115cb60000000p-8",
    "-0x1.c79a920000000p-12",
    "0x1.61fcf20000000p-16",
)
SIN = hexadecimal(
    "-0x1.5555555552386p-3",
    "0x1.1111110c9a357p-7",
    "-0x1.a019f94ef3938p-13",
    "0x1.71d776ab2cac2p-19",
    "-0x1.a9648d5b37c1ap-26",
)
COS = hexadecimal(
    "0x1.55555555530b6p-5",
    "-0x1.6c16c1676219ep-10",
    "0x1.a019fa9fb6265p-16",
    "-0x1.27e0259fbdfe1p-22",
    "0x1.1bc62aa7de349p-29",
)
SIN_F64 = hexadecimal(
    "-0x1.5555555555548p-3",
    "0x1.111111110f752p-7",
    "-0x1.a01a019bef085p-13",
    "0x1.71de355adde7bp-19",
    "-0x1.ae5e50230643cp-26",
    "0x1.5d8cadefcba5dp-33",
)
COS_F64 = hexadecimal(
    "0x1.555555555554cp-5",
    "-0x1.6c16c16c15253p-10",
    "0x1.a01a019cc639ep-16",
    "-0x1.27e4f817f1fbbp-22",
    "0x1.1ee9f4c8264c4p-29",
    "-0x1.8fb2dce593eb1p-37",
)
EXP_F64 = hexadecimal(
    "0x1.0000000000000p-1",
    "0x1.5555555555559p-3",
    "0x1.5555555555561p-5",
    "0x1.111111110f866p-7",
    "0x1.6c16c16c0ed5dp-10",
    "0x1.a01a01aedaebcp-13",
    "0x1.a01a01d2ac196p-16",
    "0x1.71ddfb1ed6ca9p-19",
    "0x1.27e46970f092fp-22",
    "0x1.af5a30b1ee18fp-26",
    "0x1.204b1b6ce11b7p-29",
)
LOG_F64 = hexadecimal(
    "0x1.555555555559bp-1",
    "0x1.999999997dbb4p-2",
    "0x1.2492494379fbdp-2",
    "0x1.c71c50f647a77p-3",
    "0x1.7466713b38864p-3",
    "0x1.399d19d4863c9p-3",
    "0x1.2f30a75b56310p-3",
)
POW_F64 = hexadecimal(
    "0x1.9999999999b32p-2",
    "0x1.249249245797bp-2",
    "0x1.c71c722dc0d6ep-3",
    "0x1.745ce9c32d3eep-3",
    "0x1.3b1ef20c31812p-3",
    "0x1.0f7f5917bd1cep-3",
    "0x1.0e48127c8015ap-3",
)
ERF_F64 = hexadecimal(
    "0x1.06eba8214db69p-3",
    "-0x1.812746b0379f2p-2",
    "0x1.ce2f21a042f1bp-4",
    "-0x1.b82ce3128fdf1p-6",
    "0x1.565bcd0ee8724p-8",
    "-0x1.c02db404d4b3cp-11",
    "0x1.f9a325bfe3b82p-14",
    "-0x1.f4d221dbd391cp-17",
    "0x1.b9e1c1be30709p-20",
    "-0x1.5f30f7205b2c0p-23",
    "0x1.f84d52ffa1040p-27",
    "-0x1.39ecd9dba9278p-30",
    "0x1.08060205e5989p-34",
)
ERFC_F64 = hexadecimal(
    "0x1.9917d0b94a800p-22",
    "0x1.20dd2ebbcb1c2p+0",
    "0x1.45f5d4419c091p-1",
    "0x1.a4ae75c112275p-4",
    "-0x1.3705d67951d46p-6",
    "-0x1.ca88635418571p-12",
    "0x1.0184bcb2a23a8p-9",
    "-0x1.b2de81b536920p-11",
    "0x1.864049c0dac1ap-13",
    "-0x1.ab02a55a79190p-17",
    "-0x1.c4472009e4680p-18",
    "0x1.72b67706e9137p-19",
    "-0x1.18d0f81933a05p-21",
    "0x1.cf3efb3d089f4p-25",
    "-0x1.502e471626949p-29",
)
ERFC_FAR_F64 = hexadecimal(
    "0x1.1fcdf0a1a1bb6p+4",
    "0x1.0790664673a0cp+3",
    "0x1.f2675479d131fp-1",
    "0x1.f12d2c5492322p-9",
    "-0x1.31399112d02f2p-11",
    "0x1.7d3bd4f153142p-14",
    "-0x1.e33e861dfd7b6p-17",
    "0x1.f11cd7c5715a7p-20",
    "-0x1.16094dd662432p-21",
    "-0x1.78aeb4ec29b54p-25",
    "-0x1.cb7d9923a5b09p-26",
    "-0x1.aaa541249a29bp-30",
)
FAST_EXP = hexadecimal(
    "0x1.fffdfa0000000p-2",
    "0x1.5557ac0000000p-3",
    "0x1.572b0a0000000p-5",
    "0x1.1065840000000p-7",
)
FAST_EXP2 = hexadecimal(
    "0x1.62e42a0000000p-1",
    "0x1.ebf9c00000000p-3",
    "0x1.c6b63c0000000p-5",
    "0x1.3cf62a0000000p-7",
    "0x1.5c6d8a0000000p-10",
)
FAST_LOG = hexadecimal(
    "0x1.0000000000000p+0",
    "-0x1.fffff40000000p-2",
    "0x1.5556da0000000p-2",
    "-0x1.00071a0000000p-2",
    "0x1.98e18c0000000p-3",
    "-0x1.52efc20000000p-3",
    "0x1.304f0e0000000p-3",
    "-0x1.2777460000000p-3",
    "0x1.734d980000000p-4",
)
FAST_LOG2 = hexadecimal(
    "0x1.7154760000000p+0",
    "-0x1.7154700000000p-1",
    "0x1.ec73700000000p-2",
    "-0x1.715cb60000000p-2",
    "0x1.26de660000000p-2",
    "-0x1.e9e40a0000000p-3",
    "0x1.ba69880000000p-3",
    "-0x1.a25c600000000p-3",
    "0x1.e90c9a0000000p-4",
)
FAST_SIN = hexadecimal(
    "-0x1.5555460000000p-3",
    "0x1.11077a0000000p-7",
    "-0x1.9954a40000000p-13",
)
FAST_COS = hexadecimal(
    "0x1.5549fe0000000p-5",
    "-0x1.65e1160000000p-10",
)
FAST_EXP_F64 = hexadecimal(
    "0x1.fffdfa7940430p-2",
    "0x1.5557b1f30fc85p-3",
    "0x1.572ad91166533p-5",
    "0x1.10617f060e571p-7",
)
FAST_LOG_F64 = hexadecimal(
    "0x1.55557a3611613p-1",
    "0x1.995ea88c9f9c8p-2",
    "0x1.31e4eff1a5c53p-2",
)
FAST_TANH = hexadecimal(
    "0x1.0000000000000p+0",
    "0x1.1204420000000p-3",
    "0x1.c9f8560000000p-9",
    "0x1.59555e0000000p-16",
    "0x1.c9a3c40000000p-27",
)
FAST_TANH_BELOW = hexadecimal(
    "0x1.0000000000000p+0",
    "0x1.de576a0000000p-2",
    "0x1.a7df240000000p-6",
    "0x1.5841d80000000p-12",
    "0x1.a0b85c0000000p-21",
)
FAST_ERF = hexadecimal(
    "0x1.20dd740000000p+0",
    "0x1.884bb60000000p-3",
    "0x1.b127f40000000p-5",
    "0x1.f3253e0000000p-9",
    "0x1.2a84740000000p-12",
    "0x1.0fe9b40000000p-19",
)
FAST_ERF_BELOW = hexadecimal(
    "0x1.0000000000000p+0",
    "0x1.0195040000000p-1",
    "0x1.d53ca00000000p-4",
    "0x1.ed53840000000p-7",
    "0x1.32e6600000000p-10",
    "0x1.3d5b440000000p-15",
)
LN2_F32 = hexadecimal("0x1.62e4000000000p-1", "0x1.7f7d1c0000000p-20")
LN2_F64 = hexadecimal("0x1.62e42fefa4000p-1", "-0x1.8432a1b0e2634p-43")
TWO_THIRDS_F64 = hexadecimal("0x1.5555555555555p-1", "0x1.5555555555555p-55")
LN2_NEAREST_F64 = hexadecimal("0x1.62e42fefa39efp-1", "0x1.abc9e3b39803fp-56")
LOG2E_F32 = hexadecimal("0x1.7154760000000p+0", "0x1.4ae0c00000000p-26")
LOG2E_F64 = hexadecimal("0x1.71547652b82fep+0", "0x1.777d0ffda0d24p-56")
HALF_PI_F64 = hexadecimal("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110")
HALF_PI_F32 = hexadecimal("0x1.921fb40000000p+0", "0x1.4442d00000000p-24", "0x1.84698a0000000p-48")
TWO_OVER_PI_BITS = 1216
TWO_OVER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424D"
    "D2E006492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D639"
    "835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B74F46"
    "3F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BAB",
    16,
)
