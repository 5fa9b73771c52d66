import Foundation
import RepriseTesting

/// `crash-loop opening`: stays for 300 ms where an owner is for a moment, between locking the index
/// of its log and filling it.
struct HalfOpenOwner {
    private let database: String

    init(_ arguments: Arguments) throws { database = try arguments.needed("database") }

    func run() throws {
        let index = open(database + "-shm", O_RDWR | O_CREAT, 0o600)
        guard index >= 0, ftruncate(index, 3) == 0 else {
            throw ProcessFailure("The index cannot be made.")
        }
        // SQLite's "dead man's switch": whoever holds this byte keeps others from starting the
        // index anew.
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = 128
        lock.l_len = 1
        guard fcntl(index, F_SETLK, &lock) == 0 else {
            throw ProcessFailure("The index cannot be locked.")
        }
        LineFile.output.append("opening")
        usleep(300_000)
    }
}
