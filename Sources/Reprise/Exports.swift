// One import is enough for an app: the facade exports the features and their types.
@_exported public import RepriseChains
@_exported public import RepriseChannels
@_exported public import RepriseCore
@_exported public import RepriseForms
@_exported public import RepriseJournal
@_exported public import RepriseNotices
@_exported public import RepriseReminders
@_exported public import RepriseWire
