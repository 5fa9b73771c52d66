import Foundation
import RepriseTesting

#if os(Linux)
    /// A disk whose power can be cut: an ext4 file system on a loop device over memory.
    ///
    /// Sealing the memory makes every later write fail, between any two pages that the kernel
    /// writes: what it holds then is what a medium without a cache of its own holds after the power
    /// failed. (Copying the file of an ordinary image under load is not that: it mixes the states
    /// of different moments, and SQLite does not survive an order of writes that no disk would
    /// keep.)
    final class Medium {
        let point: String
        private let memory: Int32
        private let device: Int32

        /// Makes an empty file system and mounts it.
        ///
        /// A small journal of ext4's own is gone round sooner.
        init(point: String, megabytes: Int, journalMegabytes: Int) throws {
            self.point = point
            memory = try Self.sealableMemory(megabytes << 20)
            try command(
                "mkfs.ext4", "-q", "-F", "-b", "1024", "-J", "size=\(journalMegabytes)",
                "/proc/\(getpid())/fd/\(memory)")
            let control = open("/dev/loop-control", O_RDWR | O_CLOEXEC)
            guard control >= 0 else { throw ProcessFailure("There is no /dev/loop-control.") }
            defer { close(control) }
            let number = ioctl(control, 0x4C82)  // LOOP_CTL_GET_FREE
            device = open("/dev/loop\(number)", O_RDWR | O_CLOEXEC)
            guard device >= 0, ioctl(device, 0x4C00, memory) == 0 else {  // LOOP_SET_FD
                throw ProcessFailure(
                    "No loop device can be had: \(String(cString: strerror(errno)))")
            }
            try FileManager.default.createDirectory(
                atPath: point, withIntermediateDirectories: true)
            try command("mount", "/dev/loop\(number)", point)
        }

        deinit {
            try? command("umount", "-l", point)
            _ = ioctl(device, 0x4C01)  // LOOP_CLR_FD
            close(device)
            close(memory)
        }

        /// From now on every write fails.
        func cutPower() throws {
            guard fcntl(memory, 1_033, 0x10) == 0 else {  // F_ADD_SEALS, F_SEAL_FUTURE_WRITE
                throw ProcessFailure(
                    "The memory cannot be sealed: \(String(cString: strerror(errno)))")
            }
        }

        /// Writes down what it holds, holes left out; then the copy can be mounted like a disk that
        /// is switched on again.
        func copy(to path: String) throws {
            let target = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            defer { close(target) }
            let size = lseek(memory, 0, Int32(SEEK_END))
            guard target >= 0, ftruncate(target, size) == 0 else {
                throw ProcessFailure("\(path) cannot be written.")
            }
            var chunk = [UInt8](repeating: 0, count: 1 << 20)
            var offset = lseek(memory, 0, 3)  // SEEK_DATA
            while offset >= 0, offset < size {
                let count = pread(memory, &chunk, chunk.count, offset)
                guard count > 0, pwrite(target, chunk, count, offset) == count else {
                    throw ProcessFailure("\(path) cannot be written.")
                }
                offset = lseek(memory, offset + off_t(count), 3)
            }
        }

        /// glibc has the call; Swift's map of its headers does not show it.
        private static func sealableMemory(_ bytes: Int) throws -> Int32 {
            typealias Create = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32
            let flags: UInt32 = 3  // MFD_CLOEXEC, MFD_ALLOW_SEALING
            guard let symbol = dlsym(nil, "memfd_create") else {
                throw ProcessFailure("The C library has no memfd_create.")
            }
            let memory = unsafeBitCast(symbol, to: Create.self)("medium", flags)
            guard memory >= 0, ftruncate(memory, off_t(bytes)) == 0 else {
                throw ProcessFailure("No memory for a disk: \(String(cString: strerror(errno)))")
            }
            return memory
        }
    }
#else
    /// Needs Linux.
    final class Medium {
        let point = ""

        init(point: String, megabytes: Int, journalMegabytes: Int) throws {
            throw ProcessFailure("loop mounts need Linux")
        }

        func cutPower() throws {}

        func copy(to path: String) throws {}
    }
#endif

/// Runs a command of the system; throws what it said if it fails.
func command(_ words: String...) throws {
    let process = try ChildProcess(
        URL(fileURLWithPath: "/bin/sh"), ["-c", "exec \"$0\" \"$@\" 2>&1"] + words)
    var said: [String] = []
    while let line = process.readLine() { said.append(line) }
    guard process.wait() == .exit(0) else {
        throw ProcessFailure("\(words.joined(separator: " ")): \(said.joined(separator: " "))")
    }
}
