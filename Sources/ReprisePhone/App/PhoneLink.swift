import Foundation
import NIOCore
import RepriseApple
import RepriseCore
import Synchronization

/// The one connection of a launched process to its phone.
final class PhoneLink: Sendable {
    private struct State {
        var last = 0
        var waiting: [Int: CheckedContinuation<AppAnswer, any Error>] = [:]
    }

    let clocks: PhoneTimekeeper
    let network: PhonePaths
    let device: PhoneConditions
    /// One end for each transfer; the rest is for progress, of which the newest suffices.
    let transfers = ValueStreams<Transfer>(newest: 4 * PhoneLimits.transfers)
    let rules: PhoneRules
    /// As the adapter of Apple's scheduler keeps them for a process.
    private let registrations = Mutex(BackgroundRegistrations())
    let transferEnds = TransferEnds()
    let windows: PhoneWindows
    /// The system's orders; read by one task.
    let orders: AsyncStream<(Int, AppOrder)>
    private let connection: LineConnection
    private let told: AsyncStream<(Int, AppOrder)>.Continuation
    private let state = Mutex(State())

    private init(_ connection: LineConnection, _ welcome: AppWelcome) {
        self.connection = connection
        clocks = PhoneTimekeeper(welcome.clock)
        network = PhonePaths(welcome.network)
        rules = welcome.rules
        windows = PhoneWindows(welcome.rules.keyWindow)
        device = PhoneConditions(welcome.network, welcome.device, folder: welcome.folder)
        // The phone terminates an app that has half as much before it.
        (orders, told) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(2 * PhoneLimits.orders))
    }

    /// Sends the greeting and waits for the welcome.
    static func connect(
        to socket: String, token: String, whenOff: @escaping @Sendable () -> Void
    ) async throws -> (PhoneLink, AppWelcome) {
        let connection = try await LineConnection.connect(to: socket)
        connection.send(PhoneGreeting.app(token: token))
        return try await withCheckedThrowingContinuation { greeted in
            Task {
                var link: PhoneLink?
                await connection.readLines { line in
                    guard let message = try? PhoneJSON.decode(PhoneMessage.self, from: line) else {
                        return true
                    }
                    if let link {
                        link.hear(message)
                    } else if case .welcome(let welcome) = message {
                        let made = PhoneLink(connection, welcome)
                        link = made
                        greeted.resume(returning: (made, welcome))
                    }
                    return true
                }
                guard link != nil else {
                    return greeted.resume(
                        throwing: RepriseError(.refused, "The phone does not know this process."))
                }
                whenOff()
            }
        }
    }

    private func hear(_ message: PhoneMessage) {
        switch message {
        case .welcome: break
        case .answer(let id, let answer):
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(returning: answer)
        case .order(let id, let order): told.yield((id, order))
        case .clock(let clock): clocks.set(clock)
        case .network(let status):
            network.set(status)
            device.set(status)
        case .device(let status): device.set(status)
        case .transfer(let transfer):
            if transfer.state != .running { transferEnds.eventArrived() }
            transfers.send(transfer)
        }
    }

    /// Calls the system; its refusal is thrown.
    func ask(_ call: AppCall) async throws -> AppAnswer {
        let answer = try await withCheckedThrowingContinuation { waiter in
            let id = state.withLock { state in
                state.last += 1
                state.waiting[state.last] = waiter
                return state.last
            }
            if !connection.send(AppMessage.call(id: id, call)) {
                state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(
                    throwing: RepriseError(.tooLarge, "It does not fit into a line."))
            }
        }
        if case .failed(let failure) = answer { throw failure.error }
        return answer
    }

    func register(_ id: String) async throws {
        // The system says what is permitted.
        try registrations.withLock { try $0.register(id, permitted: [id]) }
        _ = try await ask(.register(id))
    }

    /// The app has finished launching.
    func launched() { registrations.withLock { $0.launched() } }

    func say(_ message: AppMessage) async {
        connection.send(message)
        await connection.flush()
    }
}
