import Foundation
import RepriseCore
import Synchronization

/// Remembers over the end of the process which entries it was applying: one that ends it each time
/// would else end it at every start.
///
/// A file of 24 bytes beside the view, written before each transaction and not synced: it is to
/// outlive the process, not the power.
final class ApplyingNote: Sendable {
    private struct State {
        /// The entry at which processes have ended.
        var suspect: Int64 = 0
        /// The last one that was applied with it.
        var through: Int64 = 0
        var deaths: Int64 = 0
    }

    private let file: Int32
    private let state: Mutex<State>

    /// Reads what the last process left; `applied` is the view's last entry.
    init(in folder: String, applied: Int64) {
        // Without the file nothing is remembered.
        file = open(folder + "/view.applying", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        var bytes = [UInt8](repeating: 0, count: 24)
        let count = pread(file, &bytes, 24, 0)
        var found = State()
        if count == 24, let note = try? Self.read(bytes), note.suspect == applied + 1 {
            found = note
            // Whatever a damaged file says, it is tried again.
            found.deaths = (0...1_000).contains(note.deaths) ? note.deaths + 1 : 1
        }
        state = Mutex(found)
    }

    deinit { if file >= 0 { Foundation.close(file) } }

    private static func read(_ bytes: [UInt8]) throws -> State {
        var reader = BinaryReader(bytes)
        return State(
            suspect: try reader.integer(), through: try reader.integer(),
            deaths: try reader.integer())
    }

    /// How often the process has ended while it applied this entry first.
    func deaths(at sequence: Int64) -> Int {
        state.withLock { $0.suspect == sequence ? Int(clamping: $0.deaths) : 0 }
    }

    /// Whether this entry is to be applied alone, so that the one that ends the process is known.
    func isSuspect(_ sequence: Int64) -> Bool {
        state.withLock { $0.deaths > 0 && ($0.suspect...max($0.suspect, $0.through)) ~= sequence }
    }

    /// These are applied now.
    func begin(_ first: Int64, through last: Int64) {
        write(
            State(
                suspect: first, through: max(last, through(first)),
                deaths: Int64(deaths(at: first))))
    }

    /// They were not applied, and the process goes on.
    func end() { write(State()) }

    /// They are applied.
    ///
    /// A suspect is none any more: its ends were kills, or losses of power that took commits back.
    func applied(_ first: Int64) { if deaths(at: first) > 0 { end() } }

    /// Of a batch that ended the process, the rest stays suspect.
    private func through(_ first: Int64) -> Int64 {
        state.withLock { $0.deaths > 0 && $0.through >= first ? $0.through : 0 }
    }

    private func write(_ note: State) {
        var writer = BinaryWriter()
        writer.write(note.suspect)
        writer.write(note.through)
        writer.write(note.deaths)
        _ = pwrite(file, writer.bytes, 24, 0)
    }
}
