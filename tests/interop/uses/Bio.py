"""biopython: molecular biology."""

import numpy as np
from Bio import Align, Cluster
from Bio.PDB.vectors import Vector, rotaxis
from Bio.SVDSuperimposer import SVDSuperimposer


def clusters(x):
    data = x[:400].reshape(-1, 4)
    return (
        Cluster.kcluster(
            data, 2, initialid=(np.arange(len(data)) % 2).astype(np.int32)
        )[0],
        Cluster.distancematrix(data)[2],
        Cluster.pca(data)[3],
    )


def structures(small):
    a, b = small[:12].reshape(4, 3), small[12:24].reshape(4, 3)
    s = SVDSuperimposer()
    s.set(a, b)
    s.run()
    return (
        s.get_rms(),
        Vector(small[:3]).norm(),
        Vector(1, 2, 3).left_multiply(rotaxis(0.3, Vector(0, 0, 1))).get_array(),
    )


def alignments(small):
    aligner = Align.PairwiseAligner()
    letters = np.frombuffer(b"ACGTACGA", np.uint8)
    return aligner.score(b"ACGT", letters.tobytes()), np.array(
        aligner.align("ACGTT", "ACTT")[0].coordinates
    )
