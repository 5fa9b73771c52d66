import Foundation
import RepriseCore

/// The bytes written by the processes of one app, as counted by the kernel, sampled while they
/// live.
///
/// All writes by `write(2)` and the like; nil without `/proc`.
actor ChainsMeter {
    private let checker: ChainsChecker
    /// By the number of the process.
    private var written: [String: Int] = [:]
    private(set) var isAvailable = false

    init(_ checker: ChainsChecker) { self.checker = checker }

    var bytes: Int? { isAvailable ? written.values.reduce(0, +) : nil }

    /// Looks until the task is cancelled.
    func watch() async {
        while !Task.isCancelled {
            look()
            try? await Task.sleep(for: .milliseconds(15))
        }
    }

    func look() {
        let lives = checker.lines.filter { $0.verb == .life }.suffix(2)
        for process in lives.map(\.key) {
            guard let text = try? String(contentsOfFile: "/proc/\(process)/io", encoding: .utf8),
                let line = text.split(separator: "\n").first(where: { $0.hasPrefix("wchar:") }),
                let count = line.split(separator: " ").last.flatMap({ Int($0) })
            else { continue }
            isAvailable = true
            written[process] = max(written[process] ?? 0, count)
        }
    }

    /// The resident memory of a process, in bytes.
    static func memory(of process: String) -> Int? {
        let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = text?.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let words = line?.split(whereSeparator: \.isWhitespace) ?? []
        return words.count > 1 ? Int(words[1]).map { $0 * 1_024 } : nil
    }
}
