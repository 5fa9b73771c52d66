import Foundation
import RepriseCommandLine

/// The keys of the terminal, over all conversations: those behind a `/go` are for the next one.
actor ChatKeys {
    private var decoder = KeyDecoder()
    private var unread: [Key] = []

    /// - Returns: the keys that came together; nil when the terminal is gone.
    func next() async throws -> [Key]? {
        if !unread.isEmpty {
            defer { unread = [] }
            return unread
        }
        let bytes = try await InputLineReader.read(STDIN_FILENO)
        return bytes.isEmpty ? nil : decoder.decode(bytes)
    }

    /// Keeps what was not looked at.
    func giveBack(_ keys: ArraySlice<Key>) { unread = Array(keys) }
}
