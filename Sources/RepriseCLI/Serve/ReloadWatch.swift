import RepriseServer
import ServiceLifecycle
import UnixSignals

/// Makes a server read keys and certificate again, at each SIGHUP.
///
/// Also without files to read: the end of a terminal must not stop the server.
struct ReloadWatch: Service {
    let server: Server

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        await cancelWhenGracefulShutdown {
            for await _ in signals { await server.reload() }
        }
    }
}
