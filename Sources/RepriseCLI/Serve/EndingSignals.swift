import Foundation
import RepriseCommandLine
import RepriseCore
import ServiceLifecycle

/// SIGTERM and SIGINT to a process that is to end cleanly, from its first moment on and within 5 s.
///
/// ServiceLifecycle listens only once its services run: until then a signal would end the process.
enum EndingSignals {
    /// How long after the first signal a process that is still there is ended, whatever it does.
    static let timeout: Duration = .milliseconds(4_900)

    private static let (arrivals, arrived) = AsyncStream<Void>.makeStream(
        bufferingPolicy: .bufferingNewest(1))

    /// Takes the signals from now on; called once.
    static func begin() {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return }  // a signal ends it, as it would without this
        wakeUp = ends[1]
        for number in [SIGTERM, SIGINT] {
            signal(number) { _ in
                var byte: UInt8 = 0
                _ = write(wakeUp, &byte, 1)
            }
        }
        let reading = ends[0]
        Thread.detachNewThread {
            var byte: UInt8 = 0
            while read(reading, &byte, 1) < 0, errno == EINTR {}
            arrived.yield()
            Thread.sleep(forTimeInterval: timeout.inSeconds)
            endNow()
        }
    }

    /// Durable state stays; no peer is notified.
    private static func endNow() -> Never {
        var output = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        if poll(&output, 1, 0) == 1 {  // or one who does not read it would keep the process
            Terminal.error.writeLine("reprise: It could not end in time, and is ended now.")
        }
        _exit(ExitStatus.incomplete.rawValue)
    }

    /// As one of the services of a group: it shuts the group down at the first signal.
    static var service: ServiceGroupConfiguration.ServiceConfiguration {
        .init(service: Watch(), successTerminationBehavior: .gracefullyShutdownGroup)
    }

    private struct Watch: Service {
        func run() async throws {
            await cancelWhenGracefulShutdown { for await _ in arrivals { return } }
        }
    }
}

/// The signal handler's pipe: a global, because nothing else is safe to use there.
nonisolated(unsafe) private var wakeUp: Int32 = -1
