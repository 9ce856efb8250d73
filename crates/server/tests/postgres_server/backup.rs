//! Backup and restore of a ledger on PostgreSQL.

use crate::backups;
use crate::schema_fixture::Schema;

#[test]
fn whatever_was_acknowledged_before_a_backup_is_replayed_after_its_restore() {
    let (here, there) = (Schema::new(), Schema::new());
    backups::whatever_was_acknowledged_before_a_backup_is_replayed_after_its_restore(&here.dir(), &there.dir());
}

#[test]
fn nothing_gives_way_unless_it_is_said() {
    backups::nothing_gives_way_unless_it_is_said(&Schema::new().dir());
}

#[test]
fn a_damaged_backup_is_refused() {
    let (here, there) = (Schema::new(), Schema::new());
    backups::a_damaged_backup_is_refused(&here.dir(), &there.dir());
}
