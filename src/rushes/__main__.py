"""`python -m rushes` is `rushes`."""

from rushes.cli.main import main

if __name__ == "__main__":
    main()
