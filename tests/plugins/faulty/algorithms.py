from textcat.linear import Algorithm, Options


def wrong(problem, block, options, start):
    return 1 / 0


thing = Algorithm(wrong, Options)
