import Foundation
package import ServiceLifecycle

/// Ends a process when its standard input ends: so a child never outlives the one that started it,
/// even if that is killed.
package enum InputWatch {
    /// As one of the services of a group.
    package static var service: ServiceGroupConfiguration.ServiceConfiguration {
        .init(
            service: Watch(), successTerminationBehavior: .gracefullyShutdownGroup)
    }

    /// Returns when standard input has ended, or the task is cancelled.
    package static func untilEnd() async {
        let reader = InputLineReader(descriptor: STDIN_FILENO)
        while let line = try? await reader.next() { _ = line }
    }

    private struct Watch: Service {
        func run() async throws {
            await cancelWhenGracefulShutdown { await InputWatch.untilEnd() }
        }
    }
}
