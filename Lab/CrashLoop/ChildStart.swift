import Foundation

/// What every child does first: its complaints go to a file, and it ends when the one who started
/// it does.
enum ChildStart {
    static func begin(log: String) {
        let file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        if file >= 0 { dup2(file, STDERR_FILENO) }
        Thread {
            var byte: UInt8 = 0
            while read(STDIN_FILENO, &byte, 1) > 0 {}
            exit(0)
        }.start()
    }
}

/// Something around the test failed, not what is tested.
struct ProcessFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
