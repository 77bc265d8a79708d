def thing(scores, decisions, labels):
    return 1 / 0
