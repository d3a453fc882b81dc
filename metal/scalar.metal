/* scalar.metal -- the mx_ words of csrc/ops.def. */
