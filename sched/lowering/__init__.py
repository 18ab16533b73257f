"""Lowering: from the nests of a schedule to a statement tree (`loopnest`), and from that to TensorIR (`emit`)."""
