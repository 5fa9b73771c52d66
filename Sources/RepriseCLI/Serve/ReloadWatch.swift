import RepriseServer
import ServiceLifecycle
import UnixSignals

/// Tells a server to read keys and certificate again, at each SIGHUP.
///
/// Also where there is nothing to read: a terminal that goes away is no reason to stop serving.
struct ReloadWatch: Service {
    let server: Server

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        await cancelWhenGracefulShutdown {
            for await _ in signals { await server.reload() }
        }
    }
}
