/// One key of a store like `UserDefaults`, as kind as its documentation lets it be.
///
/// "It's changed synchronously within your process, and asynchronously to persistent storage"
/// (Apple, UserDefaults), which does not mean that the system may drop the value (Apple's developer
/// forums, thread 728044); a set is a message to a daemon of the system. So here a value that was
/// set survives a kill at the next instant. It is replaced whole or not at all: a disk that is
/// full, or fails its sync, leaves the former one. And what is read is what was written, byte for
/// byte, until the medium is damaged.
final class DefaultsStore {
    private let disk: SimulatedDisk
    private(set) var value: [UInt8]?

    init(on disk: SimulatedDisk) { self.disk = disk }

    /// - Returns: whether it was saved.
    func set(_ bytes: [UInt8]) -> Bool {
        guard disk.commit() == .done else { return false }
        value = bytes
        return true
    }

    /// One byte of the medium goes bad: a control character, which no JSON text may have.
    func damage(_ bits: UInt64) {
        guard let count = value?.count, count > 0 else { return }
        value?[Int(bits % UInt64(count))] = 0x01
    }
}
