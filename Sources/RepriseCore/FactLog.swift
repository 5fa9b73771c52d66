package import Logging

/// How the features log: a line per fact at `info`, per decision at `debug`; never a body or a
/// token.
extension Logger {
    /// A logger that says nothing.
    package static let silent = Logger(
        label: "reprise", factory: { _ in SwiftLogNoOpLogHandler() })

    /// This logger, for one feature.
    package func of(_ feature: String) -> Logger {
        var logger = self
        logger[metadataKey: "feature"] = "\(feature)"
        return logger
    }

    /// Logs a line whose values may be foreign: control characters are written out.
    package func tell(
        _ level: Level, _ message: Message, _ values: @autoclosure () -> [String: String?] = [:]
    ) {
        guard logLevel <= level else { return }
        log(
            level: level, message,
            metadata: values().compactMapValues { $0.map { "\($0.printable)" } })
    }
}
