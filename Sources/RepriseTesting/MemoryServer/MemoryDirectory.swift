import RepriseCore
import RepriseWire

/// The users of a ``MemoryServer``: the channels that are theirs alone, and their settings.
struct MemoryDirectory {
    /// Of channels that are for these users alone.
    private(set) var members: [ChannelName: Set<UserID>] = [:]
    private(set) var titles: [ChannelName: String] = [:]
    private(set) var profiles: [UserID: Profile] = [:]
    private var settings: [UserID: MemorySettings] = [:]

    /// What a user has set; empty if nothing.
    subscript(_ user: UserID) -> MemorySettings {
        get { settings[user] ?? MemorySettings() }
        set { settings[user] = newValue }
    }

    func isMember(_ user: UserID, of channel: ChannelName) -> Bool {
        members[channel]?.contains(user) == true
    }

    func mayUse(_ channel: ChannelName, _ user: UserID?) -> Bool {
        if channel.isDirectory { return user.map { .directory(of: $0) == channel } ?? false }
        guard let members = members[channel] else { return true }
        return user.map(members.contains) ?? false
    }

    /// The channels of a user that are for some users alone.
    func channels(of user: UserID) -> [ChannelName] {
        members.filter { $0.value.contains(user) }.keys.sorted()
    }

    /// - Returns: whom it concerns.
    mutating func setMembers(_ users: Set<UserID>, of channel: ChannelName) -> [UserID] {
        let changed = users.symmetricDifference(members[channel] ?? [])
        members[channel] = users
        return changed.sorted()
    }

    /// - Returns: whom it concerns.
    mutating func setTitle(_ title: String?, of channel: ChannelName) -> [UserID] {
        titles[channel] = title
        return (members[channel] ?? []).sorted()
    }

    /// - Returns: whom it concerns, and of which channel.
    mutating func setProfile(
        _ profile: Profile, of user: UserID
    ) -> [(user: UserID, channel: ChannelName)] {
        profiles[user] = profile
        return channels(of: user).flatMap { channel in
            (members[channel] ?? []).subtracting([user]).sorted()
                .map { (user: $0, channel: channel) }
        }
    }

    /// What a channel is to a user, as the real server says it.
    func entry(of channel: ChannelName, for user: UserID, at time: Int64) -> DirectoryEntry {
        var entry = DirectoryEntry(conversation: channel)
        guard let members = members[channel], members.contains(user) else {
            entry.left = true
            return entry
        }
        let others = members.subtracting([user])
        entry.role = "member"
        entry.joined = 0
        entry.since = time
        entry.visibility = "private"
        entry.title = titles[channel]
        entry.members = Int64(members.count)
        entry.others = others.map(\.text).sorted()
        let known = others.compactMap { other in profiles[other].map { (other.text, $0) } }
        if !known.isEmpty { entry.profiles = Dictionary(uniqueKeysWithValues: known) }
        if let mute = self[user].mutedChannels[channel.text] {
            (entry.muted, entry.mutedUntil) = (true, mute)
        }
        entry.archived = self[user].archived[channel.text]
        return entry
    }
}
