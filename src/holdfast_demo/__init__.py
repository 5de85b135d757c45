"""The demos of Holdfast. They use only public names of the library, as any application does."""
