/// Something that goes wrong at a moment of a schedule.
package struct Fault: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        // The network of one device.
        case delay, slow, reorder, drop, duplicate, cut, halfOpen, partition
        // Processes: killed between any two effects, frozen, without power.
        case killDevice, killServer, powerLossDevice, powerLossServer, suspend, secondOwner
        case killLoading, shutdownServer
        // Disks.
        case diskFull, syncFails, serverDiskFull, serverSyncFails, damage
        // Clocks of a device.
        case clockJump, clockDrift
        // The server's log.
        case retention, restore, newEpoch
        // Of a cluster: the journal, and a gateway's way to it, its process and its view.
        case journalLoses, journalRepeats, journalDelays, journalLeaderless
        case gatewayCutOff, gatewayStops, viewLost
        // Devices that come back, and who else writes to the journal.
        case deviceMoves, gatewayReturns, journalStrangers
        // What the server takes.
        case refusePublish
        // Tokens: the app's backend has none, or its clock is wrong.
        case tokensFail, tokenSkew
        // Gates and handlers.
        case gateCloses, handlerThrows, handlerHangs, handlerLate
        // Pages of forms, and whose they are.
        case pageDies, pageHangs, pageLate, pageForges, newCatalogue, logOut, newCompany
        // The app's store, the notification centre, and where the phone is.
        case storeFails, storeSlow, centreGone, centreRefuses, permissionRevoked, travels

        /// What happens, for people.
        package var text: String {
            switch self {
            case .delay: "the network delays"
            case .slow: "the network is slow"
            case .reorder: "the network reorders events"
            case .drop: "the network drops events"
            case .duplicate: "the network repeats events"
            case .cut: "the connection is cut"
            case .halfOpen: "the connection is half open: nothing goes through, nobody is told"
            case .partition: "the device has no network"
            case .killDevice: "the app is killed"
            case .killServer: "the server is killed"
            case .killLoading: "the app is killed while it loads a snapshot"
            case .shutdownServer: "the server is told to end, and ends in good order"
            case .powerLossDevice: "the device loses power"
            case .powerLossServer: "the server loses power"
            case .suspend: "the app is suspended"
            case .secondOwner: "a second process opens the journal"
            case .diskFull: "the device's disk is full"
            case .syncFails: "the device's disk fails a sync"
            case .serverDiskFull: "the server's disk is full"
            case .serverSyncFails: "the server's disk fails a sync"
            case .damage: "a byte on the device's disk goes bad"
            case .clockJump: "the device's calendar jumps"
            case .clockDrift: "the device's calendar drifts"
            case .retention: "the server's retention takes messages away"
            case .restore: "the server is restored from a backup"
            case .newEpoch: "the server begins a new log"
            case .journalLoses: "entries are lost on their way to the journal and from it"
            case .journalRepeats: "entries come twice"
            case .journalDelays: "entries come late, and out of order"
            case .journalLeaderless: "the journal has no leader"
            case .gatewayCutOff: "a gateway does not reach the journal"
            case .gatewayStops: "a gateway is frozen"
            case .viewLost: "a gateway is killed, and its view is gone"
            case .deviceMoves: "a gateway is cut off with what a device published, which goes"
            case .gatewayReturns: "a gateway starts without its journal, and all connect again"
            case .journalStrangers: "somebody else writes to the journal: noise, damaged copies"
            case .refusePublish: "the server refuses some of what is published, for now"
            case .tokensFail: "the app's backend has no good tokens"
            case .tokenSkew: "the clock of the app's backend is wrong"
            case .gateCloses: "a gate closes"
            case .handlerThrows: "a handler throws"
            case .handlerHangs: "a handler hangs"
            case .handlerLate: "a handler is late"
            case .pageDies: "the page dies, again and again"
            case .pageHangs: "the page does not answer"
            case .pageLate: "the page is late"
            case .pageForges: "the page's messages are forged, repeated, out of order, broken"
            case .newCatalogue: "the server has a new catalogue"
            case .logOut: "the user logs out"
            case .newCompany: "the app shows the forms of another company"
            case .storeFails: "the app's store throws"
            case .storeSlow: "the app's store takes seconds"
            case .centreGone: "the notification centre does not answer"
            case .centreRefuses: "the notification centre refuses requests"
            case .permissionRevoked: "notifications are not allowed, for a while"
            case .travels: "the phone travels to another time zone"
            }
        }
    }

    package var kind: Kind
    package var at: Duration
    /// How long it lasts; after a kill: how long until the process is started again.
    package var length: Duration
    /// Which device (or server), counted from 0.
    package var target: Int
    /// Bits for what else has to be chosen.
    package var bits: UInt64
    /// Its place in the schedule that the seed draws; stays when others are taken away.
    package var index: Int

    package init(
        _ kind: Kind, at: Duration, length: Duration = .zero, target: Int = 0, bits: UInt64 = 0,
        index: Int = 0
    ) {
        self.kind = kind
        self.at = at
        self.length = length
        self.target = target
        self.bits = bits
        self.index = index
    }
}
