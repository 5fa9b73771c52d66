public import Foundation
import RepriseCore

/// A phone to play a scenario on: a real supervisor process, with real app processes.
///
/// ```swift
/// let phone = try await Phone.start(in: folder, supervisor: .tool(lab))
/// try await phone.install(PhoneAppSpec(id: "shop", executable: shop.path))
/// try await phone.push(#"{"aps": {"alert": "Hello"}}"#)
/// try await phone.tap()
/// try await phone.expects(.form("welcome"), within: .seconds(1))
/// await phone.end()
/// ```
///
/// Where a call takes an app, nil is the only one that is installed.
public actor Phone {
    /// The program that runs the phone; it ends with its standard input, so that it does not
    /// outlive its parent.
    public struct Supervisor: Hashable, Sendable {
        /// Its path.
        public var program: URL
        /// Its arguments; the folder's path is appended.
        public var arguments: [String]

        /// Names a program, for which `arguments` and a folder's path are the call to run a phone
        /// there.
        public init(program: URL, arguments: [String]) {
            self.program = program
            self.arguments = arguments
        }

        /// The command line tool `reprise-lab`.
        ///
        /// - Parameter program: where it is.
        /// - Returns: the supervisor.
        public static func tool(_ program: URL) -> Supervisor {
            Supervisor(
                program: program, arguments: ["phone", "run", "--until-input-ends", "--folder"])
        }
    }

    /// The phone's folder.
    public nonisolated let folder: PhoneFolder
    private let supervisor: Supervisor
    private var process: PhoneProcess?
    private var control: PhoneControl?
    /// The log so far, and the events already matched by an expectation.
    private var events: [PhoneEvent] = []
    private var met: Set<Int> = []

    private init(_ folder: PhoneFolder, _ supervisor: Supervisor) {
        self.folder = folder
        self.supervisor = supervisor
    }

    /// Starts a phone.
    ///
    /// - Parameters:
    ///   - folder: its data; a short path, because it contains a socket.
    ///   - supervisor: the program that runs it.
    ///   - rules: where Apple's documentation leaves something open; nil: unchanged.
    /// - Returns: the phone, which runs until ``end()``.
    /// - Throws: ``RepriseCore/RepriseError`` `.timedOut` if it does not listen within 20 seconds.
    public static func start(
        in folder: URL, supervisor: Supervisor, rules: PhoneRules? = nil
    ) async throws -> Phone {
        let phone = Phone(PhoneFolder(folder), supervisor)
        try await phone.powerOn()
        if let rules { try await phone.ask(.rules(rules)) }
        return phone
    }

    /// Starts the phone again after ``powerOff()``.
    ///
    /// - Throws: as ``start(in:supervisor:rules:)``.
    public func powerOn() async throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        process = try PhoneProcess(
            [supervisor.program.path] + supervisor.arguments + [folder.url.path],
            environment: ProcessInfo.processInfo.environment,
            output: folder.url.appendingPathComponent("phone.out"), holdsInput: true
        ) { _ in }
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            do {
                let control = try await PhoneControl.connect(to: folder)
                _ = try await control.status()
                self.control = control
                return
            } catch {
                guard ContinuousClock.now < deadline else {
                    await end()
                    throw RepriseError(
                        .timedOut, "The phone does not listen. It said: \(lastWords)", cause: error)
                }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    private var lastWords: String {
        let path = folder.url.appendingPathComponent("phone.out").path
        let words = FileManager.default.contents(atPath: path) ?? Data()
        return words.isEmpty ? "nothing" : String(decoding: words.suffix(500), as: UTF8.self)
    }

    /// Takes the battery out: the phone's process is killed, and its apps die with it.
    public func powerOff() {
        process?.end()
        process = nil
        control?.close()
        control = nil
        for leftover in leftovers { PhoneProcess.endLeftover(leftover) }
    }

    /// Ends the phone with all its processes, in any state.
    ///
    /// A second call does nothing.
    public func end() async {
        if let control { _ = try? await control.ask(.shutdown) }
        powerOff()
    }

    /// The processes in the phone's last state.
    private var leftovers: [ProcessIdentity] {
        guard let data = FileManager.default.contents(atPath: folder.state),
            let content = try? JSONDecoder().decode(PhoneDisk.Content.self, from: data)
        else { return [] }
        return content.state.condemned + content.state.apps.values.compactMap(\.process?.identity)
    }

    // MARK: Commands

    /// Sends a command to the phone.
    ///
    /// - Parameter command: the command.
    /// - Returns: the answer.
    /// - Throws: as ``PhoneControl/ask(_:)``.
    @discardableResult
    public func ask(_ command: PhoneCommand) async throws -> PhoneAnswer {
        guard let control else {
            throw RepriseError(.closed, "The phone is off.", remedy: "Call powerOn().")
        }
        return try await control.ask(command)
    }

    /// The phone's current status.
    ///
    /// - Returns: a consistent snapshot.
    /// - Throws: as ``ask(_:)``.
    public func status() async throws -> PhoneStatus {
        guard case .status(let status) = try await ask(.status) else { throw PhoneApp.nonsense }
        return status
    }

    /// The status of an app.
    ///
    /// - Parameter name: its id; nil is the only one.
    /// - Returns: its part of ``status()``.
    /// - Throws: `.noSuchEntry`, and as ``ask(_:)``.
    public func app(_ name: String? = nil) async throws -> PhoneStatus.App {
        let apps = try await status().apps
        let app = name.map { name in apps.first { $0.id == name } } ?? apps.first
        guard let app else { throw RepriseError(.noSuchEntry, "No such app is installed.") }
        return app
    }

    // MARK: Expectations

    /// Waits for an event in the log; each event matches one expectation.
    ///
    /// - Parameters:
    ///   - expectation: a past or future event.
    ///   - limit: the timeout.
    /// - Returns: the event.
    /// - Throws: ``PhoneUnmetExpectation`` with the recent log at the timeout; errors as
    ///   ``ask(_:)``.
    @discardableResult
    public func expects(_ expectation: PhoneExpectation, within limit: Duration = .seconds(20))
        async throws -> PhoneEvent
    {
        let deadline = ContinuousClock.now + limit
        while true {
            if let event = events.first(where: {
                !met.contains($0.number) && expectation.isMet(by: $0)
            }) {
                met.insert(event.number)
                return event
            }
            let left = deadline - .now
            guard left > .zero else { throw PhoneUnmetExpectation(expectation, limit, events) }
            try await read(waiting: left)
        }
    }

    /// Checks that an event is not in the log so far.
    ///
    /// - Parameter expectation: the event.
    /// - Throws: ``PhoneUnmetExpectation`` if it is; errors as ``ask(_:)``.
    public func hasNot(_ expectation: PhoneExpectation) async throws {
        try await read(waiting: .zero)
        if events.contains(where: { !met.contains($0.number) && expectation.isMet(by: $0) }) {
            throw PhoneUnmetExpectation(expectation, nil, events)
        }
    }

    /// The whole log that the phone still has.
    ///
    /// - Returns: the events in order.
    /// - Throws: as ``ask(_:)``.
    public func log() async throws -> [PhoneEvent] {
        try await read(waiting: .zero)
        return events
    }

    private func read(waiting limit: Duration) async throws {
        var limit = limit
        while let control {
            let new = try await control.log(since: events.last?.number ?? 0, wait: limit)
            let last = events.last?.number ?? 0
            events += new.filter { $0.number > last }
            limit = .zero
            if new.isEmpty { return }
        }
    }
}
