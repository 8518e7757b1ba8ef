"""The commands of `varigym`, a file each; `main` joins them."""
