public import Foundation
import RepriseCore
import Synchronization

/// A headless Chromium: the web views of a phone are its tabs.
///
/// ```swift
/// let chromium = try await Chromium.start()
/// let webViews = ChromiumWebViews(address: chromium.address, app: "shop")
/// …
/// await chromium.end()
/// ```
///
/// It ends with the process that started it, however that ends. Other processes may use it by its
/// address.
public final class Chromium: Sendable {
    /// Its DevTools address: a WebSocket URL on loopback, enough for another process to use it.
    public let address: String
    /// The process group that all of it runs in.
    public let group: pid_t
    /// Its profile folder, until its end.
    package let profile: URL
    private let process: ChromiumProcess

    /// How long a start may take.
    public static let timeout = Duration.seconds(30)

    private init(address: String, profile: URL, process: ChromiumProcess) {
        self.address = address
        self.profile = profile
        self.process = process
        group = process.id
    }

    /// Starts a browser with a profile of its own, which is removed at its end.
    ///
    /// - Parameters:
    ///   - executable: the browser's path; nil tries `REPRISE_CHROMIUM`, then `chromium`,
    ///     `chromium-browser`, `google-chrome` on the path.
    ///   - limit: the timeout.
    /// - Returns: the browser, ready for connections.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if none exists or it ends at once,
    ///   `.timedOut`.
    public static func start(
        executable: String? = nil, within limit: Duration = Chromium.timeout
    ) async throws -> Chromium {
        guard let program = executable ?? find(),
            FileManager.default.isExecutableFile(atPath: program)
        else {
            throw RepriseError(
                .unavailable, "No Chromium is installed.",
                remedy: "Install it (Debian: apt-get install chromium), or set REPRISE_CHROMIUM.")
        }
        let profile = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-chromium-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: profile, withIntermediateDirectories: true)
        let process = try ChromiumProcess(
            profile: profile.path, command: [program] + flags(profile: profile.path))
        let address = try await address(
            in: profile.appendingPathComponent("DevToolsActivePort"), of: process, within: limit)
        return Chromium(address: address, profile: profile, process: process)
    }

    /// Ends it and all its processes, and removes its profile; returns when that is done.
    public func end() async { await process.end() }

    /// The path of this machine's browser.
    ///
    /// - Returns: nil if it has none.
    public static func find() -> String? {
        let environment = ProcessInfo.processInfo.environment
        if let chosen = environment["REPRISE_CHROMIUM"], !chosen.isEmpty { return chosen }
        let folders = (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        for name in ["chromium", "chromium-browser", "google-chrome"] {
            for folder in folders {
                let path = "\(folder)/\(name)"
                if FileManager.default.isExecutableFile(atPath: path) { return path }
            }
        }
        return nil
    }

    private static func flags(profile: String) -> [String] {
        [
            "--headless=new", "--user-data-dir=\(profile)", "--remote-debugging-port=0",
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--no-default-browser-check", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-default-apps",
            "--disable-extensions", "--disable-breakpad", "--disable-crash-reporter",
            "--disable-features=Translate,MediaRouter,OptimizationHints",
            // A hidden web view keeps its timers, like one on a phone's screen.
            "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
            "--disable-backgrounding-occluded-windows",
            // Only loopback is reachable: no test may depend on a network.
            "--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=127.0.0.1;localhost",
            "--password-store=basic", "--use-mock-keychain", "--mute-audio", "--hide-scrollbars",
            "about:blank",
        ]
    }

    /// The browser writes its port and its path into a file when it listens.
    private static func address(
        in file: URL, of process: ChromiumProcess, within limit: Duration
    ) async throws -> String {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if let text = try? String(contentsOf: file, encoding: .utf8) {
                let lines = text.split(separator: "\n")
                if lines.count == 2, let port = UInt16(lines[0]) {
                    return "ws://127.0.0.1:\(port)\(lines[1])"
                }
            }
            guard process.isRunning else {
                throw RepriseError(
                    .unavailable, "Chromium ended as soon as it was started.",
                    remedy: "Start it by hand with --headless to see what it says.")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        await process.end()
        throw RepriseError(.timedOut, "Chromium did not begin to listen within \(limit).")
    }
}
