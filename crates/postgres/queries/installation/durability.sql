-- Whether a commit that was answered is on the disk.
SELECT current_setting('synchronous_commit') <> 'off' AND current_setting('fsync') = 'on'
