"""`textcat fetch`, `export` and `generate`: download, copy and synthesize collections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.completion import complete_collections
from textcat.cli.options import (
    CommandSettings,
    FolderToWrite,
    add_common_options,
    add_work_options,
    make_progress_bar,
    read_command_settings,
)
from textcat.errors import UsageError

if TYPE_CHECKING:
    from textcat.corpora.document import Document


@click.command("fetch", epilog="Example:  textcat fetch reuters21578 --from /media/disk/collections")
@click.argument(
    "corpora", nargs=-1, required=True, metavar="CORPUS|EXPERIMENT...", shell_complete=complete_collections
)
@click.option("--from", "source", help="Folder, archive or URL to fetch from.")
@click.option(
    "--export", type=FolderToWrite(), help="Also copy the collection to this folder, for use as a mirror."
)
@add_work_options
def fetch_command(corpora: tuple[str, ...], source: str | None, export: Path | None, **settings: Any) -> None:
    """Download collections and verify them.

    CORPUS is a name from `textcat list corpora`; for an EXPERIMENT file, its corpus is fetched. Sources are
    tried in this order: files fetched before, the mirror, then the sources listed by `textcat show CORPUS`.
    Files are installed only after verification; fetching again changes nothing.
    """
    options = read_command_settings(settings)
    for name in corpora:
        _fetch_collection(_get_corpus_name(name), source, export, options)


def _get_corpus_name(name: str) -> str:
    from textcat.corpora import list_corpora

    if name in list_corpora() or not name.endswith(".yaml"):
        return name
    from textcat.experiment.spec.loading import load_experiment

    return load_experiment(name).corpus.name


def _fetch_collection(name: str, source: str | None, export: Path | None, options: CommandSettings) -> None:
    from textcat.corpora import fetch_corpus, is_fetched, load_card
    from textcat.corpora.fetch.collection import export_corpus

    if options.dry_run:
        load_card(name)
        click.echo(f"fetch {name}: {'ready' if is_fetched(name, options.data) else 'to do'}")
        return
    report = fetch_corpus(
        name,
        options.data,
        source=source,
        offline=options.offline,
        mirror=options.mirror,
        progress=make_progress_bar(),
    )
    options.print_unless_quiet(
        f"{name}: {'fetched from' if report.fresh else 'available, from'} {report.source}"
    )
    options.print_unless_quiet(f"  folder    {report.folder}")
    options.print_unless_quiet(f"  verified  {report.verified}")
    for what, number in report.counts.items():
        options.print_unless_quiet(f"  {what}: {number:,}")
    options.print_unless_quiet(f"  terms     {report.terms.strip()}")
    options.print_unless_quiet(f"  cite      {report.citation.strip()}")
    if export:
        options.print_unless_quiet(f"  copied to {export_corpus(name, options.data, export)}")


@click.command("export", epilog="Example:  textcat export reuters21578 news.jsonl --split modapte")
@click.argument("corpus")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default="-")
@click.option("--split", default="", help="Split of the collection.  [default: its first]")
@click.option("--offline", is_flag=True, help="Do not use the network.")
@add_common_options
def export_command(corpus: str, file: Path, split: str, offline: bool, **settings: Any) -> None:
    """Write the documents of CORPUS to FILE or standard output as JSON Lines.

    Each line holds the id, the labels, the side (train, test or unused) and the fields of a document. The
    collection is fetched first if necessary.
    """
    from textcat.corpora import fetch_corpus, open_corpus
    from textcat.store.files import STANDARD_OUTPUT, open_output

    options = read_command_settings(settings)
    fetched = fetch_corpus(
        corpus, options.data, mirror=options.mirror, offline=offline, progress=make_progress_bar()
    )
    documents = open_corpus(corpus, fetched.folder, split=split or None).documents()
    with open_output(file) as stream:
        number = sum(1 for document in documents if stream.write(_format_document(document)))
    if str(file) not in STANDARD_OUTPUT:
        click.echo(f"{file}: {number:,} documents")


def _format_document(document: Document) -> bytes:
    about = {"id": document.id, "labels": list(document.labels), "side": document.split}
    return (json.dumps(about | dict(document.fields), ensure_ascii=False) + "\n").encode()


@click.command(
    "generate", epilog="Example:  textcat generate rcv1-like --documents 50000 --seed 1 --to data/rcv1-like"
)
@click.argument("what", type=click.Choice(["rcv1-like", "many-labels"]))
@click.option("--documents", type=click.IntRange(min=2), required=True, help="Number of documents.")
@click.option(
    "--training",
    type=click.IntRange(min=1),
    help="Number of training documents of rcv1-like.  [default: the share of RCV1-v2]",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Random seed; the same seed gives the same files."
)
@click.option("--to", "target", type=FolderToWrite(), required=True, help="Folder to write.")
@add_common_options
def generate_command(
    what: str, documents: int, training: int | None, seed: int, target: Path, **settings: Any
) -> None:
    """Generate a synthetic collection of any size: rcv1-like or many-labels.

    rcv1-like has the format and statistics of RCV1-v2: vocabulary growth, document lengths, topic frequencies and
    the topic hierarchy follow the real collection. Words depend on topics, so learners can learn them. Use it to
    measure speed at full size. An experiment reads it with `corpus: {name: rcv1-like, path: FOLDER}`, as in
    configs/rcv1_like.yaml.

    many-labels has vectors with Zipf-distributed labels: three labels for every 20 training documents, and one test
    document in eleven. An experiment reads it with
    `corpus: {name: svmlight, path: train.svm, options: {test: test.svm}}`.
    """
    from textcat.corpora.generate import generate_rcv1_like

    options = read_command_settings(settings)
    if what == "many-labels":
        _generate_labels(documents, training, seed, target, options)
        return
    bar = make_progress_bar()
    made = generate_rcv1_like(
        target,
        documents,
        seed,
        training=training,
        progress=lambda done, total: bar(done, total, f"generate {what}"),
    )
    options.print_unless_quiet(
        f"{made.folder}: {made.documents:,} documents ({made.training_documents:,} training), {made.tokens:,} tokens"
    )


def _generate_labels(
    documents: int, training: int | None, seed: int, target: Path, options: CommandSettings
) -> None:
    from textcat.corpora.generate import write_generated_labels

    if training is not None:
        hint = "In many-labels one document in eleven is a test document."
        raise UsageError("--training is for rcv1-like", hint=hint)
    known, labels = write_generated_labels(target, documents, seed)
    options.print_unless_quiet(f"{target}: {documents:,} documents ({known:,} training), {labels:,} labels")
