extension RepriseError.Code {
    /// The codes of the SDK, in the order of `docs/errors.md`.
    package enum Known: String, CaseIterable, Sendable {
        case journalOwned, ownershipLost, journalNewer, notAJournal, notWritable, diskFull
        case diskFailed, busy, corrupt, closed, unknownKind, noSuchEntry
        case tooLarge, full
        case malformed, badChannelName, badID, badConfiguration, badAddress, duplicateReader
        case duplicateChain
        case unreachable, notReprise, refused, untrusted, unauthorized, tokenExpired, forbidden
        case wrongUser, timedOut, portInUse, unavailable
        case `internal`

        package var reference: CodeReference {
            let (meaning, remedy) = text
            return CodeReference(rawValue, meaning, remedy)
        }

        private var text: (meaning: LimitText, remedy: String) {
            switch self {
            case .journalOwned:
                ("Another process owns the journal.", "End that process, or use its spool.")
            case .ownershipLost:
                (
                    "Another process has taken over the journal; nothing was written.",
                    "Open the journal again, or leave it to the other process."
                )
            case .journalNewer:
                ("A newer version of Reprise has written the journal.", "Update the app.")
            case .notAJournal:
                ("The folder is not a journal, or not the expected kind.", "Check the path.")
            case .notWritable: ("The file system refuses to write.", "Check the permissions.")
            case .diskFull:
                ("The disk is full; nothing was written or lost.", "Free space, then retry.")
            case .diskFailed:
                ("The disk failed to read or write.", "Retry; the journal may be intact.")
            case .busy: ("Another connection has locked the database.", "Retry.")
            case .corrupt:
                (
                    "The database is damaged.",
                    "Open the journal again: it keeps the damaged file aside and starts anew."
                )
            case .closed: ("The journal or the connection is closed.", "Open it again.")
            case .unknownKind:
                ("The entry's kind was not declared.", "Declare it when opening the journal.")
            case .noSuchEntry:
                ("No entry has this id, or its state does not allow the call.", "List the entries.")
            case .tooLarge: ("A payload, body or frame exceeds its limit.", "Send less.")
            case .full: ("A queue is at its limit.", "Retry after an item has left it.")
            case .malformed: ("The input violates its format.", "Correct the input.")
            case .badChannelName: ("A channel's name violates the rule.", "Use another name.")
            case .badID: ("An id violates the rule.", "Use another id.")
            case .badConfiguration: ("The configuration is invalid.", "Follow the message.")
            case .badAddress: ("A server's address has no scheme or no host.", "Correct it.")
            case .duplicateReader:
                ("The channel already has a reader of this name.", "Use another name.")
            case .duplicateChain: ("Two definitions of chains have one name.", "Rename one.")
            case .unreachable: ("Nothing answers at this address.", "Retry later.")
            case .notReprise: ("The server is not a Reprise server.", "Check the address.")
            case .refused:
                ("The server refuses; a repetition has the same result.", "Do not retry.")
            case .untrusted:
                ("The server's certificate is not trusted.", "Check the certificate and its CA.")
            case .unauthorized: ("The token is missing or not accepted.", "Sign in again.")
            case .tokenExpired: ("The token has expired.", "Get a fresh token.")
            case .forbidden: ("The user is not allowed to do this.", "Do not retry.")
            case .wrongUser:
                ("The token belongs to another user.", "Use a token of the signed-in user.")
            case .timedOut:
                (
                    "No answer within the timeout; it may have taken effect.",
                    "Retry with the same id."
                )
            case .portInUse: ("The port to listen on is taken.", "Use another port.")
            case .unavailable: ("The server is going away or overloaded.", "Retry later.")
            case .internal: ("A defect of Reprise.", "Report it.")
            }
        }
    }

    init(_ known: Known) { self.init(known.rawValue) }
}
