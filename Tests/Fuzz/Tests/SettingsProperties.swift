import Dispatch
import Foundation
import RepriseCore
import RepriseServer
import Synchronization

@testable import RepriseCLI

/// The server's settings: as a file, or, after a first line `#env`, as variables of the
/// environment.
enum SettingsProperties {
    static func check(_ bytes: [UInt8]) throws {
        let mark = Array("#env\n".utf8)
        if bytes.starts(with: mark) {
            let text = String(decoding: bytes.dropFirst(mark.count), as: UTF8.self)
            return try check(environment: environment(text), file: nil)
        }
        try FileProperties.with(bytes, in: "settings.json") { file in
            try check(environment: [:], file: file.path)
        }
    }

    private static func environment(_ text: String) -> [String: String] {
        var result: [String: String] = [:]
        for line in text.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            result[String(line[..<equals])] = String(line[line.index(after: equals)...])
        }
        return result
    }

    private static func check(environment: [String: String], file: String?) throws {
        let settings: ServeSettings
        do {
            settings = try waiting {
                try await ServeSettings(
                    flags: ServeSettings.Flags(), environment: environment, file: file)
            }
        } catch let error as RepriseError {
            return try hold(error.code == .badConfiguration, "refused with \(error)")
        }
        try hold((0...65_535).contains(settings.port), "port \(settings.port)")
        try hold(!settings.host.isEmpty && !settings.data.isEmpty, "an empty host or folder")
        try hold(settings.isLoopback || !settings.isDevelopment, "--dev for everybody")
        try hold(settings.isLoopback || settings.access != .open, "open to everybody")
        for value in [settings.keepMessages, settings.keepDays].compactMap(\.self) {
            try hold((1...1_000_000_000).contains(value), "keep \(value)")
        }
        _ = settings.configuration
    }

    /// libFuzzer asks on its main thread, which belongs to nobody's task.
    private static func waiting<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        let bell = DispatchSemaphore(value: 0)
        let box = Box<Value>()
        Task.detached {
            do {
                let value = try await work()
                box.answer.withLock { $0 = .success(value) }
            } catch {
                box.answer.withLock { $0 = .failure(error) }
            }
            bell.signal()
        }
        bell.wait()
        guard let result = box.answer.withLock({ $0 }) else {
            throw BrokenProperty(description: "no answer")
        }
        return try result.get()
    }
}

private final class Box<Value: Sendable>: Sendable {
    let answer = Mutex<Result<Value, any Error>?>(nil)
}
