"""Write a categorizer as a pipeline of scikit-learn alone, which gives the same answers without textcat.

    model = Categorizer.load("help-desk")
    pipeline = make_pipeline_of(model)          # FeatureUnion of TfidfVectorizer, LogisticRegression or LinearSVC

UsageError names a setting that scikit-learn does not support. `convert_to_onnx` passes the pipeline on to skl2onnx,
which supports words and n-grams of words, but no n-grams of characters.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from textcat.errors import UsageError
from textcat.linear.model import LinearModel, make_dense
from textcat.serving.categorizer import Categorizer
from textcat.sklearn.validation import Floats
from textcat.text.tokenizers import TOKENIZERS, Tokenizer
from textcat.text.weighting import inverse_document_frequencies

# Regular expressions of ONNX (RE2), where those of Python mean something else: there \W and \S know ASCII only.
TOKEN_EXPRESSIONS = {
    "unicode": r"[\p{L}\p{N}]+",
    "whitespace": r"[^\x{9}-\x{d}\x{1c}-\x{20}\x{85}\p{Z}]+",
}
# The least inverse temperature of an exported model: with 0 all classes would have equal scores.
LEAST_INVERSE = 1e-12
WEIGHTINGS = ("binary", "tf", "log_tf", "tf_idf", "log_tf_idf")
TRAIN_HINT = (
    "Train with `text: {groups: [{ngrams: [1, 1]}]}` or `vector: {cosine_terms: kept}`, a tokenizer without stop list "
    "and stemmer, and one label per document."
)


def make_pipeline_of(categorizer: Categorizer) -> Pipeline:
    """Return a fitted pipeline from raw texts to classes, with probabilities if they are a softmax of scores.

    Those of the softmax learner and of a calibration by temperature are.
    """
    _check_settings(categorizer)
    made = _make_vectorizers(categorizer)
    union = FeatureUnion(
        [(name, vectorizer) for name, vectorizer, _ in made],
        transformer_weights={name: weight for name, _, weight in made},
    )
    return Pipeline([("features", union), ("classifier", _make_classifier(categorizer))])


def convert_to_onnx(categorizer: Categorizer, locale: str = "C.UTF-8") -> Any:
    """Return the pipeline as an ONNX model by skl2onnx: input `texts`, outputs the labels and their probabilities.

    Without probabilities the second output is the scores. `locale` must exist where the model runs; it decides how
    letters are lowercased, one by one: the Greek final sigma and the dotted capital I of Turkish are not
    lowercased as by textcat.
    """
    try:
        from skl2onnx import to_onnx  # noqa: PLC0415 - an optional package
        from skl2onnx.common.data_types import StringTensorType  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "skl2onnx is not installed", hint="Install it with `pip install skl2onnx`."
        ) from error
    if any(part.group is not None and part.group.analyzer != "word" for part in categorizer.vectorizer.parts):
        raise UsageError(
            "skl2onnx does not support n-grams of characters within words, nor one space for white space of any kind",
            hint="Train with n-grams of words.",
        )
    pipeline = make_pipeline_of(categorizer)
    tokenizer = categorizer.text.tokenizer
    tokens = TOKEN_EXPRESSIONS.get(tokenizer) or str(getattr(TOKENIZERS[tokenizer], "pattern", ""))
    if "(?<" in tokens:
        raise UsageError(
            f"the regular expressions of ONNX cannot express the tokenizer {tokenizer}",
            hint="Train with `text: {tokenizer: unicode}`.",
        )
    vectorizers = [vectorizer for _, vectorizer in pipeline["features"].transformer_list]
    options: dict[int, dict[str, Any]]
    options = {id(vectorizer): {"locale": locale, "tokenexp": tokens} for vectorizer in vectorizers}
    if isinstance(classifier := pipeline["classifier"], LinearSVC):
        # Otherwise skl2onnx asks it for probabilities.
        options[id(classifier)] = {"raw_scores": True}
    model = to_onnx(pipeline, initial_types=[("texts", StringTensorType([None]))], options=options)
    _correct_logarithms(model.graph)
    return model


def _correct_logarithms(graph: Any) -> None:
    """Compute 1 + ln(count) for words that occur, as scikit-learn does; skl2onnx 1.20 writes ln(1 + count)."""
    nodes = graph.node
    for place in reversed(range(len(nodes))):
        log = nodes[place]
        if log.op_type != "Log" or not log.output[0].startswith("plus1logged"):
            continue
        plus = next(node for node in nodes if log.input[0] in node.output)
        counts, result = plus.input[0], log.output[0]
        # ln(max(count, 1)) + sign(count)
        plus.op_type = "Max"
        log.output[0], sign = f"{result}_log", f"{result}_sign"
        made = type(log)
        nodes.insert(
            place + 1, made(op_type="Add", input=[log.output[0], sign], output=[result], name=result)
        )
        nodes.insert(place + 1, made(op_type="Sign", input=[counts], output=[sign], name=sign))


def _check_settings(categorizer: Categorizer) -> None:
    """Raise UsageError for settings that scikit-learn's vectorizers and linear classifiers do not have."""
    text, vector, rule = categorizer.text, categorizer.run.vector, categorizer.decision_rule
    tokenizer = TOKENIZERS[text.tokenizer]
    plain = isinstance(tokenizer, Tokenizer) and not (tokenizer.skip or tokenizer.finish)
    scaled = any(part.norm != "none" for part in categorizer.vectorizer.parts)
    calibrated = categorizer.run.calibration is not None
    faults = {
        "it is not a linear model": not isinstance(categorizer.model, LinearModel) or bool(categorizer.axes),
        "documents may have several labels": not rule.single_label,
        "it rejects documents": rule.rejection is not None,
        f"its tokenizer {text.tokenizer} is not a regular expression": not plain,
        "it has a stop list or a stemmer": text.stop_list != "none" or text.stem != "none",
        "it changes accents or digits": text.cleaner is not None,
        "it has several fields": len(text.fields) > 1,
        "its terms name their field (separate_fields)": bool(text.separate_fields),
        "words that it does not know change the length of a document (cosine_terms: all)": (
            scaled and not text.groups and vector.cosine_terms == "all"
        ),
        "its weighting is bm25 or entropy_share": any(
            part.weighting not in WEIGHTINGS for part in categorizer.vectorizer.parts
        ),
        "it counts the first words apart (first_words)": any(group.first_words for group in text.groups),
        "its features are hashed (bits)": any(group.bits for group in text.groups),
        "its calibration is not by temperature": calibrated and _get_inverse_temperature(categorizer) is None,
    }
    for fault, found in faults.items():
        if found:
            raise UsageError(
                f"the model cannot be written as a pipeline of scikit-learn: {fault}", hint=TRAIN_HINT
            )


def _get_inverse_temperature(categorizer: Categorizer) -> float | None:
    inverse = getattr(categorizer.decision_rule.calibration, "inverse", None)
    return None if inverse is None else float(inverse[0])


def _make_vectorizers(categorizer: Categorizer) -> list[tuple[str, Any, float]]:
    """Return a fitted vectorizer for each group of terms, with its name and weight."""
    fitted, text = categorizer.vectorizer, categorizer.text
    tokenizer = TOKENIZERS[text.tokenizer]
    found = []
    for number, part in enumerate(fitted.parts):
        group = part.group
        places = np.arange(part.start, part.end)[fitted.kept[part.start : part.end]]
        prefix = group.prefix if group else ""
        terms = [fitted.seen[place].removeprefix(prefix) for place in places]
        vectorizer = TfidfVectorizer(
            analyzer=group.analyzer if group else "word",
            ngram_range=group.ngrams if group else (1, 1),
            lowercase=text.lowercase,
            token_pattern=getattr(tokenizer, "pattern", None),
            vocabulary={term: column for column, term in enumerate(terms)},
            binary=part.weighting == "binary",
            sublinear_tf=part.weighting in ("log_tf", "log_tf_idf"),
            use_idf=part.weighting in ("tf_idf", "log_tf_idf"),
            norm=None if part.norm == "none" else part.norm,
            dtype=np.float64,
        )
        # The vocabulary is given; document frequencies are set afterwards.
        vectorizer.fit([""])
        if vectorizer.use_idf:
            vectorizer.idf_ = inverse_document_frequencies(fitted.containing[places], fitted.documents)
        name = f"{vectorizer.analyzer}{number}"
        found.append(
            (
                name,
                _join_white_space(vectorizer) if vectorizer.analyzer == "char" else vectorizer,
                part.weight,
            )
        )
    return found


def _join_white_space(vectorizer: TfidfVectorizer) -> Pipeline:
    """Return the vectorizer of texts with a space for white space: by itself it counts tabs and line ends."""
    split, join = (FunctionTransformer(partial(map, function)) for function in (str.split, " ".join))
    return Pipeline([("split", split), ("join", join), ("count", vectorizer)])


def _make_classifier(categorizer: Categorizer) -> Any:
    """Return LogisticRegression, whose probabilities are a softmax, or LinearSVC if there are no probabilities."""
    model: Any = categorizer.model
    coef: Floats = make_dense(model.coef)
    inverse = _get_inverse_temperature(categorizer)
    if inverse is None and model.describe().get("settings", {}).get("learner") == "softmax":
        inverse = 1.0
    classifier: Any = LinearSVC() if inverse is None else LogisticRegression()
    # Where calibration finds all classes equally probable, scores decide.
    scale = 1.0 if inverse is None else max(inverse, LEAST_INVERSE)
    weights, constants = scale * coef.T, scale * np.asarray(model.intercept, dtype=np.float64)
    if len(categorizer.categories) == 2:
        # The second class against the first; of equal scores the first one wins in both.
        weights, constants = weights[1:] - weights[:1], constants[1:] - constants[:1]
    classifier.coef_, classifier.intercept_ = np.ascontiguousarray(weights), constants
    classifier.classes_ = np.array(list(categorizer.categories))
    classifier.n_features_in_ = weights.shape[1]
    classifier.n_iter_ = np.zeros(1, dtype=np.int32)
    return classifier
