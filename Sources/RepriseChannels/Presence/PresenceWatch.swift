import RepriseWire
import Synchronization

/// Performs the decisions of ``PresenceMachine``: frames, and values for those who look.
final class PresenceWatch: Sendable {
    private struct Look {
        let channel: ChannelName
        let names: Set<UserID>?
        let observer: AsyncStream<ChannelPresence>.Continuation
        var told: ChannelPresence
    }

    private struct State {
        var machine: PresenceMachine
        var frameSender: FrameSender?
        var looks: [Int: Look] = [:]
        var lastID = 0
    }

    private let state: Mutex<State>

    init(isInBackground: Bool) {
        state = Mutex(State(machine: PresenceMachine(isInBackground: isInBackground)))
    }

    // MARK: From the connection

    /// A connection begins: whether its hello says that the device is not in use.
    func dialed() -> Bool { state.withLock { $0.machine.dialed() } }

    func connected(by frameSender: FrameSender, isOffered: Bool) {
        change { state in
            state.frameSender = frameSender
            return state.machine.connected(isOffered: isOffered)
        }
    }

    func disconnected() {
        change { state in
            state.frameSender = nil
            return state.machine.disconnected()
        }
    }

    func heard(_ presence: ServerFrame.Presence) { change { $0.machine.received(presence) } }

    // MARK: From the app

    func setIdle(_ isIdle: Bool) { change { $0.machine.idleChanged(isIdle) } }

    func phaseChanged(isInBackground: Bool) {
        change { $0.machine.phaseChanged(isInBackground: isInBackground) }
    }

    func watch(_ channel: ChannelName, _ names: Set<UserID>?) -> AsyncStream<ChannelPresence> {
        let (stream, observer) = AsyncStream.makeStream(
            of: ChannelPresence.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastID += 1
            let actions = state.machine.began(channel, names)
            perform(actions, &state)
            let presence = state.machine.presence(of: channel, names)
            state.looks[state.lastID] = Look(
                channel: channel, names: names, observer: observer, told: presence)
            observer.yield(presence)
            return state.lastID
        }
        // In a task of its own: this is called under the lock of the observer's task, which a
        // change needs to wake it, and a change holds ours.
        observer.onTermination = { [weak self] _ in
            Task.detached { self?.ended(id) }
        }
        return stream
    }

    private func ended(_ id: Int) {
        change { state in
            guard let look = state.looks.removeValue(forKey: id) else { return [] }
            return state.machine.ended(look.channel, look.names)
        }
    }

    // MARK: Effects

    private func change(_ body: (inout State) -> [PresenceMachine.Action]) {
        state.withLock { state in
            let actions = body(&state)
            perform(actions, &state)
        }
    }

    private func perform(_ actions: [PresenceMachine.Action], _ state: inout State) {
        for action in actions {
            switch action {
            case .send(let frame): state.frameSender?.send([frame.encoded()])
            case .show(let channel):
                for (id, look) in state.looks where look.channel == channel {
                    let presence = state.machine.presence(of: channel, look.names)
                    guard presence != look.told else { continue }
                    state.looks[id]?.told = presence
                    look.observer.yield(presence)
                }
            }
        }
    }
}
