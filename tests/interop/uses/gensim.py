"""gensim: topics and vectors of texts."""

import numpy as np
from gensim import corpora, matutils, models, similarities

TOLERANCES = {"topics": 1e-6, "word_vectors": 1e-6, "similar": 1e-6}
TEXTS = [
    ["cat", "dog", "mouse"],
    ["cat", "fish"],
    ["stone", "sand"],
    ["sand", "fish", "sea"],
]


def conversions(x):
    y = x[:60].reshape(6, 10) * (x[:60].reshape(6, 10) > 0.5)
    corpus = matutils.Dense2Corpus(y)
    return (
        [list(d) for d in corpus],
        matutils.corpus2dense(corpus, num_terms=6),
        matutils.corpus2csc(corpus).toarray(),
        matutils.full2sparse(x[:9] * 2),
        matutils.sparse2full([(1, 2.0), (3, x[3])], 5),
        matutils.unitvec(x[:9] * 1.0 + 1),
        matutils.argsort(x * 2, topn=3),
    )


def vectors_of_words(x):
    made = models.KeyedVectors(4)
    made.add_vectors(
        ["a", "b", "c"], (x[:12].reshape(3, 4) * 1.0 + 1).astype(np.float32)
    )
    made["d"] = (x[:4] * 2).astype(np.float32)
    return made["b"] * 2, made[["a", "d"]], made.vectors, len(made)


def similar(x):
    made = models.KeyedVectors(4)
    made.add_vectors(list("abcde"), (x[:20].reshape(5, 4) + 1).astype(np.float32))
    found = made.similar_by_vector((x[:4] * 2).astype(np.float32), topn=3)
    return (
        [n for n, _ in found],
        [v for _, v in found],
        made.most_similar(positive=["a"], negative=["b"], topn=2)[0][0],
    )


def topics(x):
    words = corpora.Dictionary(TEXTS)
    corpus = [words.doc2bow(t) for t in TEXTS]
    made = models.LsiModel(corpus, id2word=words, num_topics=2, random_seed=1)
    return np.abs(np.asarray(made.projection.s)), np.abs(
        matutils.corpus2dense(made[corpus], 2)
    )


def word_vectors():
    made = models.Word2Vec(TEXTS, vector_size=8, min_count=1, workers=1, seed=1)
    return made.wv["cat"] + 1, made.wv.vectors.shape


def similarity_index(x):
    y = x[:30].reshape(5, 6) * 1.0 + 1
    index = similarities.MatrixSimilarity(matutils.Dense2Corpus(y.T), num_features=6)
    return index[matutils.full2sparse(y[0])], index[[(0, 1.0)]]
