import DequeModule
import Logging
import RepriseCore
import Synchronization

/// The newest lines of the client's log, for ``RepriseClient/exportTimeline(to:)``.
final class RecentLines: Sendable {
    struct Line: Sendable {
        let at: WallTime
        let level: String
        let message: String
        let values: [String: String]
    }

    private let lines = Mutex<Deque<Line>>([])

    var all: [Line] { lines.withLock { Array($0) } }

    fileprivate func add(_ line: Line) {
        lines.withLock { lines in
            if lines.count == ClientLimits.recentLines { lines.removeFirst() }
            lines.append(line)
        }
    }

    /// A logger that writes to `logger`, and keeps every fact here, also where `logger` is silent.
    func keeping(_ logger: Logger) -> Logger {
        var copy = Logger(label: logger.label) { [self] _ in Handler(lines: self, next: logger) }
        copy.logLevel = min(logger.logLevel, .info)
        return copy
    }

    private struct Handler: LogHandler {
        let lines: RecentLines
        var next: Logger
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set {
                metadata[key] = newValue
                next[metadataKey: key] = newValue
            }
        }

        func log(event: LogEvent) {
            let values = metadata.merging(event.metadata ?? [:]) { $1 }
            lines.add(
                Line(
                    at: SystemTimekeeper().wall(), level: event.level.rawValue,
                    message: event.message.description,
                    values: values.mapValues { "\($0)" }))
            next.log(
                level: event.level, event.message, metadata: event.metadata,
                source: event.source, file: event.file, function: event.function,
                line: event.line)
        }
    }
}
