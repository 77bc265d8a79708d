"""Split text into trigrams of letters, for languages without a stemmer."""


def trigrams(text: str) -> list[str]:
    found = []
    for word in text.split():
        letters = f"_{''.join(filter(str.isalpha, word))}_"
        found += [letters[start : start + 3] for start in range(len(letters) - 2)]
    return found
