class thing:  # noqa: N801
    name = "faulty"
    categories = ("one",)

    def __init__(self, path, split=None):
        pass

    def fingerprint(self):
        return "none"

    def documents(self):
        yield 1 / 0
