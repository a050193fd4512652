"""LangGraph's checkpoints. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, StreamKind, Verb

FEATURE = Feature(
    "langgraph",
    rank=90,
    streams=[StreamKind("graph", "holdfast.contrib.langgraph.rules.thread", acts=("append",))],
    describe="holdfast.contrib.langgraph.text:WORDS",
    attention="holdfast.contrib.langgraph.text:find_waiting",
    copies="holdfast.contrib.langgraph.text:COPIES",
    offers={"texts": "holdfast.contrib.langgraph.searched:list_texts"},
    verbs=[
        Verb(
            "import",
            "Bring checkpoints of another store into the journal.",
            "The journal",
            "holdfast.contrib.langgraph.cli",
            inner={"langgraph": "Copy the threads of LangGraph's SQLite or PostgreSQL saver."},
        ),
    ],
)
