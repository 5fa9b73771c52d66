public import Foundation
public import RepriseCore
import RepriseJournal

/// The way for events out of an app extension, which never opens the journal.
///
/// ```swift
/// try FormsSpool(at: sharedFolder).record("push_shown", properties: #"{"campaign": "spring"}"#)
/// ```
public struct FormsSpool: Sendable {
    private let spool: Spool

    /// Names the spool of a journal.
    ///
    /// - Parameter folder: the shared folder, `reprise` in the container of the app's `appGroup`,
    ///   or a journal's own. An event goes to who is signed in when it is recorded.
    public init(at folder: URL) { spool = Spool(at: folder) }

    /// Leaves an event for the app; returns once it is durable.
    ///
    /// The app's rules for events of this name apply, counted from this recording.
    ///
    /// - Parameters:
    ///   - name: 1 to 56 characters of `A–Z a–z 0–9 . _ -`.
    ///   - properties: a JSON object of at most 65,536 bytes.
    ///   - id: its identity; the same id is one event, whichever process records it.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`; `.full` when 4,096 files
    ///   wait; `.diskFull`, `.notWritable`, `.diskFailed`.
    public func record(_ name: String, properties: String = "{}", id: EntryID = .random()) throws {
        let content = try EventContent(name: name, properties: Array(properties.utf8))
        try spool.record(content.entry(id: id, source: "extension"))
    }
}
