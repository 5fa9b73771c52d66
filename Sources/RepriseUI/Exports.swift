// One import is enough for an app: the models of the interface, and the SDK.
@_exported public import Reprise
