package import Logging

/// What is logged: `debug A message is stored. channel=c message=m1 seq=1`.
package struct LoggedLines: Sendable {
    private let lines = Seen<String>()

    package init() {}

    package var all: [String] { lines.all }

    /// A logger that keeps its lines here.
    package func logger(_ level: Logger.Level = .debug) -> Logger {
        var logger = Logger(label: "test") { [lines] _ in KeptLog(lines: lines) }
        logger.logLevel = level
        return logger
    }

    /// The lines with this value of a key.
    package func with(_ key: String, _ value: String) -> [String] {
        all.filter { ($0 + " ").contains(" \(key)=\(value) ") }
    }
}

private struct KeptLog: LogHandler {
    let lines: Seen<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let values = metadata.merging(event.metadata ?? [:]) { $1 }
            .map { "\($0)=\($1)" }.sorted().joined(separator: " ")
        lines.add("\(event.level) \(event.message) \(values)")
    }
}
