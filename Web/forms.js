// The form runtime: one file, no framework, no build step. docs/forms.md has the bridge and the catalogue.
