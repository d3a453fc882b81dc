// Rank the results of a search: the quick start first, and pages for developers and figures last.
const LAST = /^(design\/|benchmarks|architecture|changes|contributing|numpy-suite|array-api-suite|reliability)/;
var Scorer = {
  score: ([page, , , , score]) => score + (page === "quickstart" ? 20 : LAST.test(page) ? -20 : 0),
  // Sphinx's own numbers.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
