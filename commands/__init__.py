"""The commands of `varigym`, one file each; `main` combines them."""
