import Foundation

/// Standard input, output and error of a process that was started without some of them.
package enum StandardDescriptors {
    /// Takes the numbers of those that are closed; called before anything is opened.
    ///
    /// Else the next file or connection would have such a number, and what is printed would be
    /// written there. What takes it fails at a read or a write, as a closed one does.
    package static func hold() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest that is free: this one, for those before it are open.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
