public import RepriseCore
public import RepriseWire
import Synchronization

/// Presence, as the test sets it.
extension MemoryServer {
    /// Sets whether a user is there, and tells those who watch him.
    ///
    /// The server tells presence to clients that connect after the first call, as the real one does
    /// with `--presence`: of the members of ``setMembers(_:of:)``, to members. A user of whom
    /// nothing was said is offline. Nothing is gathered or delayed.
    ///
    /// ```swift
    /// try server.setPresence(.online, of: "bob")
    /// ```
    ///
    /// - Parameters:
    ///   - presence: the state.
    ///   - user: the user.
    ///   - seen: of an offline user, when he was there last.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for a name that no user has.
    public func setPresence(
        _ presence: PresenceState, of user: String, seen: WallTime? = nil
    ) throws {
        let told = UserPresence(user: try UserID(user), state: presence, seen: seen)
        state.withLock { state in
            state.presence = (state.presence ?? [:]).merging([told.user: told]) { $1 }
            for (id, watches) in state.watches {
                let users = watches.flatMap { shown($0, to: id, state) ?? [] }
                guard users.contains(told.user) else { continue }
                push([.presence(.init(users: [told]))], to: id, &state)
            }
        }
    }

    /// What a user's clients have last said of themselves: nothing, or idle or in use.
    ///
    /// - Returns: the newest report of each of the user's connections, by no order.
    public func reportedPresence(of user: String) -> [PresenceState] {
        state.withLock { state in
            state.users.filter { $0.value.text == user }.compactMap { state.reports[$0.key] }
        }
    }

    /// The channels whose presence a user's clients watch now, by name.
    public func watched(by user: String) -> [String] {
        state.withLock { state in
            let ids = state.users.filter { $0.value.text == user }.keys
            return Set(ids.flatMap { state.watches[$0] ?? [] }.map(\.channel.text)).sorted()
        }
    }

    func watched(_ watches: [ClientFrame.Watch], by id: Int, _ state: inout State) {
        guard let presence = state.presence else { return }
        let new = watches.filter { !(state.watches[id] ?? []).contains($0) }
        state.watches[id] = watches
        for watch in new {
            let users = shown(watch, to: id, state)
            push(
                [
                    .presence(
                        .init(
                            channel: watch.channel,
                            users: (users ?? []).sorted().map { user in
                                presence[user] ?? UserPresence(user: user, state: .offline)
                            },
                            refusal: users == nil ? .forbidden : nil))
                ], to: id, &state)
        }
    }

    /// The users whom a watch shows; nil to one who is no member.
    private func shown(_ watch: ClientFrame.Watch, to id: Int, _ state: State) -> Set<UserID>? {
        guard let user = state.users[id], let members = state.members[watch.channel],
            members.contains(user)
        else { return nil }
        return members.subtracting([user]).intersection(watch.users.map { Set($0) } ?? members)
    }
}
