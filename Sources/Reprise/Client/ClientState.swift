public import RepriseCore
public import RepriseWire

/// Whether a client's journal is open, waits for the disk, or has failed.
public enum ClientState: Hashable, Sendable {
    /// Nothing has needed it yet.
    case idle
    /// It is being opened.
    case opening
    /// It cannot be opened now, as before a device is unlocked for the first time; it is tried
    /// again while ``RepriseClient/run()`` runs. What comes meanwhile is in the spool.
    case waiting(RepriseError)
    /// It is open; nil: nobody is signed in.
    case open(UserID?)
    /// It cannot be opened until the app is changed; the error's remedy says how.
    case failed(RepriseError)
    /// ``RepriseClient/close()`` was called.
    case closed
}
