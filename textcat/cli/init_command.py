"""`textcat init`: an experiment file from a look at the user's own documents."""
