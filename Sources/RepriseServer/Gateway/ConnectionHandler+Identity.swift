import Logging
import RepriseCore
import RepriseWire

/// The connection's identity: the user by its token, the device by its hello; a device's newest
/// connection wins.
extension ConnectionHandler {
    func identify(_ token: AccessToken?) {
        let shard = loopHub.shard
        gateway.identify(token) { [id] answer in shard.post(.identified(id, answer)) }
    }

    func identified(_ answer: Result<Principal, RepriseError>) {
        let ends = (try? answer.get())?.expires.map { expires in
            now + gateway.clock.wall().duration(to: expires) + gateway.leeway
        }
        let before = principal
        perform(machine.identified(answer, ends: ends, now: now), for: nil)
        if principal.isAdmin != before.isAdmin, before.user != nil { rightsChanged() }
        goOn()
    }

    /// Resumes frames that waited for authentication.
    private func goOn() {
        lookLater()
        receiveWaiting()
        submitPublishes()
        askForAccess()
        leaveIfAnswered()
        readAgain()
    }

    /// Ends the device's older connections, on any loop; it is welcomed once all have confirmed
    /// their end.
    func takeOver(as device: EntryID) {
        let key = Gateway.Roster.Key(user: principal.user, device: device)
        self.key = key
        let older = gateway.arrived(place, as: key)
        for other in older { other.shard.post(.replace(other.id, by: place)) }
        perform(machine.takeOver(from: older.count, now: now), for: nil)
    }

    /// The device has reconnected: nothing more is accepted here.
    func replaced() {
        perform(machine.replaced(now: now))
        giveSeatBack()
    }

    /// One of the older connections accepts nothing more.
    func olderEnded() {
        perform(machine.olderEnded(now: now), for: nil)
        goOn()
    }

    var place: Gateway.Place { .init(id: id, shard: loopHub.shard) }

    func giveSeatBack() {
        guard isAdmitted, let user = principal.user else { return }
        isAdmitted = false
        gateway.left(user)
    }

    /// Counts it as a connection of its user, within the limit.
    func admit() -> Bool {
        guard let user = principal.user else { return true }
        guard gateway.admits(user) else {
            violated(.tooManyConnections, "This user has too many connections.")
            return false
        }
        isAdmitted = true
        log(.debug, "identified", ["user": "\(user)"])
        loopHub.identified(self, as: user)
        if let device = machine.device { gateway.sawDevice(device, of: user) }
        return true
    }

    private func receiveWaiting() {
        var messages = waiting[...]
        waiting = []
        while !machine.mustWait, machine.maySend, let message = messages.popFirst() {
            received(message)
        }
        if machine.mustWait { waiting = Array(messages) }
    }

    /// The session as sent to the client.
    var session: ServerFrame.Session? {
        guard let user = principal.user, let expires = principal.expires else { return nil }
        return ServerFrame.Session(user: user, expires: expires)
    }
}
