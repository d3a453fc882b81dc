"""wordcloud: pictures of words."""

import numpy as np
import wordcloud

WORDS = {"cat": 5.0, "dog": 3.0, "mouse": 2.0, "stone": 1.0}


def _cloud(**options):
    return wordcloud.WordCloud(width=120, height=80, random_state=1, **options)


def masks(x):
    mask = np.zeros((80, 120), np.uint8)
    mask[:, :40] = 255
    made = _cloud(mask=mask, background_color="white").generate_from_frequencies(WORDS)
    return made.to_array(), np.asarray(made)[0] + 1, mask.sum()


def frequencies(x):
    counts = dict(zip(WORDS, x[:4] * 2 + 1))
    made = _cloud().generate_from_frequencies(counts)
    return [w[0][0] for w in made.layout_], made.to_array().shape


def colours(x):
    picture = (x[:60] * 255).astype(np.uint8).reshape(4, 5, 3)
    picture = np.repeat(np.repeat(picture, 20, axis=0), 24, axis=1)
    made = _cloud().generate_from_frequencies(WORDS)
    made.recolor(color_func=wordcloud.ImageColorGenerator(picture))
    return made.to_array(), picture


def error_mask(x):
    _cloud(mask=x * 2 > 5).generate_from_frequencies(WORDS)
